# Writes pages as they are installed. A link to a file that stays in the repository (code, samples, recorded runs) would lead
# nowhere there, so it becomes its text with the file's path.
# usage: SOURCE=REPOSITORY OUT=DIRECTORY awk -f installed-pages.awk LIST PAGE...
# LIST names every file that is installed, one a line, and PAGE is one of them: paths from REPOSITORY, the current directory.

BEGIN { source = ENVIRON["SOURCE"]; out = ENVIRON["OUT"] }

FILENAME == ARGV[1] { is_installed[$0] = 1; next }

FNR == 1 { write_page(); page = FILENAME; text = "" }

{ text = text $0 "\n" }

END { write_page() }

function write_page(    target, file, open, label, done) {
	if (page == "") return
	while (match(text, /\]\([^()[:space:]]+\)/)) {
		target = substr(text, RSTART + 2, RLENGTH - 3)
		file = resolved(target)
		open = begin_of_label(RSTART)
		if (open && stays(target, file)) {
			label = substr(text, open + 1, RSTART - open - 1)
			done = done substr(text, 1, open - 1) in_words(label, file)
		} else {
			done = done substr(text, 1, RSTART + RLENGTH - 1)
		}
		text = substr(text, RSTART + RLENGTH)
	}
	printf "%s", done text >(out "/" page)
	close(out "/" page)
}

# Returns the path, from the repository, of what `target` on the page leads to.
function resolved(target,    parts, count, kept, depth, at, path) {
	sub(/#.*/, "", target)
	path = page
	sub(/[^\/]*$/, "", path)
	count = split(path target, parts, "/")
	for (at = 1; at <= count; at++) {
		if (parts[at] == "..") depth--
		else if (parts[at] != "." && parts[at] != "") kept[++depth] = parts[at]
	}
	path = ""
	for (at = 1; at <= depth; at++) path = path (at > 1 ? "/" : "") kept[at]
	return path
}

# Returns whether `file`, which `target` leads to, is a file of the repository that is not installed.
function stays(target, file,    line, is_there) {
	if (target ~ /:\/\// || target ~ /^#/ || file in is_installed) return 0
	is_there = (getline line <(source "/" file)) >= 0
	close(source "/" file)
	return is_there
}

# Returns where the bracket is that the one at `end` closes, or 0.
function begin_of_label(end,    at, depth, char) {
	for (at = end - 1; at > 0; at--) {
		char = substr(text, at, 1)
		if (char == "]") depth++
		else if (char == "[" && depth-- == 0) return at
	}
	return 0
}

# Returns what is written for the link `label` to `file`; a label that is the path, or its end, is not said twice.
function in_words(label, file,    bare) {
	bare = label
	gsub(/`/, "", bare)
	if ("/" bare == substr("/" file, length(file) - length(bare) + 1)) return "`" file "` (in the repository)"
	return label " (`" file "` in the repository)"
}
