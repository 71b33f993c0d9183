//! The sheet for decision makers: what is on it, and that it follows from the results. Not here:
//! that it is one sheet on paper, which a browser checks (`report_page` of the e2e tests).

use scraper::Html;
use sealstone_bench::report::{self, Options};
use sealstone_bench::words::Threat;
use sealstone_bench::words::{Place, entry};
use sealstone_store::Layer;

use crate::studies::studies;
use crate::{fixtures, judged, select, shapes, text};

fn sheet(results: &sealstone_bench::results::Results, options: &Options) -> Html {
    Html::parse_document(&report::one_page(std::slice::from_ref(results), options).unwrap())
}

#[test]
fn the_sheet_says_who_is_kept_out_and_at_what_cost() {
    let results = judged(fixtures::ordinary());
    let page = sheet(&results, &Options::default());
    let advised = &select(&page, "tr.advised")[0];
    let words = text(advised);
    assert!(words.starts_with("files on disk (rest) ") && words.contains("recommended"), "{words}");
    for threat in Threat::ALL {
        let (protection, why) = entry(Place::of(Layer::Rest, false), threat).at(false);
        assert!(words.contains(protection.word()), "{words}");
        let whole = text(&select(&page, "main")[0]);
        assert!(whole.contains(&format!("{} : {why}", threat.name())), "{why}: {whole}");
    }
    // the cost in the table is the first figure below it
    let first = text(&select(&page, ".numbers dd")[0]);
    let cost = text(&select(&page, "tr.advised td.figure")[0]);
    assert!(first.starts_with(&cost), "{first} {cost}");
    // places that were not measured are there, and say so
    let rows: Vec<String> = select(&page, "tbody tr").iter().map(text).collect();
    let not_measured = rows.iter().filter(|row| row.ends_with("not measured")).count();
    assert_eq!((rows.len(), not_measured), (3, 2), "{rows:?}");
    let takes = text(select(&page, "main > section").last().unwrap());
    for wanted in ["Keys", "Module", "not a validated module", "Restart", "Conversion"] {
        assert!(takes.contains(wanted), "{wanted}: {takes}");
    }
}

/// A store in the process of its client has neither a network nor a server.
#[test]
fn a_store_within_the_process_has_nobody_on_the_network() {
    let results = judged(fixtures::ordinary());
    let store = results.plan.point().store;
    let options = Options { within_process: vec![store], ..Options::default() };
    let page = sheet(&results, &options);
    let words = text(&select(&page, "tr.advised")[0]);
    assert!(words.contains("nobody there"), "{words}");
    assert!(!select(&page, "tbody th").iter().map(text).any(|row| row.contains("wire")));
}

#[test]
fn sheets_of_any_results_are_well_formed() {
    let plain = shapes().into_iter().map(|(name, results)| (name.to_owned(), results));
    for (name, results) in plain.chain(studies()) {
        let html = report::one_page(&results, &Options::default()).unwrap();
        let page = Html::parse_document(&html);
        assert!(page.errors.is_empty(), "{name}: {:?}", page.errors);
        assert!(select(&page, "script, img, link").is_empty(), "{name}");
        for word in ["NaN", "undefined", "Some("] {
            assert!(!text(&select(&page, "main")[0]).contains(word), "{name}: {word}");
        }
    }
}

/// Without advice there is nobody whom it keeps out, and a run that ended early is reported as
/// such.
#[test]
fn a_sheet_says_what_is_not_known() {
    let mut results = judged(fixtures::ordinary());
    let whole = sheet(&results, &Options::default());
    assert_eq!(select(&whole, ".two").len(), 1);
    results.recommendation.take = None;
    results.interrupted = true;
    let page = sheet(&results, &Options::default());
    assert!(select(&page, ".two").is_empty());
    let words = text(&select(&page, "main")[0]);
    assert!(words.contains("nded early"), "{words}");
}
