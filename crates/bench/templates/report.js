// Sorts a table by the column whose head is pressed; without this the page says the same.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      // a dash is no figure, and stays below
      const last = (row) => head.classList.contains("figure") && !("sort" in row.cells[column].dataset);
      const order = (a, b) => last(a) - last(b) ||
        (down ? -1 : 1) * (head.classList.contains("figure") ? key(a) - key(b) || 0 :
          key(a).localeCompare(key(b), "en", { numeric: true }));
      body.append(...[...body.rows].sort(order));
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      table.classList.add("sorted");
    });
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
