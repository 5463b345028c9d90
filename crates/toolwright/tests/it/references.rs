//! The reference language, both dialects, one text at a time.

use std::collections::BTreeSet;

use toolwright::Text;
use toolwright::reference::parse::Parsed;
use toolwright::reference::{Expected, Reference, ReferenceError, Root, parse_page, parse_strict};

fn strict(text: &str) -> Result<Parsed, ReferenceError> {
    parse_strict(&Text::from(text))
}

fn page(text: &str) -> Parsed {
    parse_page(&Text::from(text))
}

/// `input .a [0] ["k"] ?`: the root, then each segment by what it takes.
fn shown(reference: &Reference) -> String {
    let mut out = match &reference.root {
        Root::Input => "input".to_owned(),
        Root::Prev => "prev".to_owned(),
        Root::StepAt(at) => format!("steps[{at}]"),
        Root::StepNamed(name) => format!("steps({name})"),
    };
    for segment in &reference.path {
        out += &match (&segment.key, segment.index) {
            (Some(key), None) => format!(" {key:?}"),
            (None, Some(index)) => format!(" [{index}]"),
            (Some(key), Some(index)) => format!(" {key:?}|[{index}]"),
            (None, None) => " nothing".to_owned(),
        };
    }
    if reference.optional {
        out += " ?";
    }
    out
}

fn reference(parsed: Parsed) -> Reference {
    match parsed {
        Parsed::Reference(reference) => reference,
        other => panic!("not a reference: {other:?}"),
    }
}

#[test]
fn every_strict_form_is_read() {
    let forms = [
        ("$input", "input"),
        ("$prev", "prev"),
        ("$steps[0]", "steps[0]"),
        ("$steps[12].x", "steps[12] \"x\""),
        ("$steps.search", "steps(search)"),
        ("$steps.my-step_2.a", "steps(my-step_2) \"a\""),
        (r#"$steps["search"]"#, "steps(search)"),
        (r#"$steps["search"][0].b"#, "steps(search) [0] \"b\""),
        ("$input.a.b", "input \"a\" \"b\""),
        ("$prev.output", "prev \"output\""),
        ("$steps[0].output.data", "steps[0] \"output\" \"data\""),
        ("$input.0", "input \"0\"|[0]"),
        ("$input.01", "input \"01\""),
        ("$input[0]", "input [0]"),
        ("$input[4294967295]", "input [4294967295]"),
        (r#"$input["0"]"#, "input \"0\""),
        (r#"$input["any key"]"#, "input \"any key\""),
        (r#"$input["a.b"]["c"]"#, "input \"a.b\" \"c\""),
        (r#"$input["x[0]"].y"#, "input \"x[0]\" \"y\""),
        (r#"$input["q\"q"]"#, r#"input "q\"q""#),
        (r#"$input["a\"]b"]"#, r#"input "a\"]b""#),
        (r#"$input["back\\"]"#, r#"input "back\\""#),
        (r#"$input["\u00e9"]"#, "input \"é\""),
        (r#"$input[""]"#, "input \"\""),
        (r#"$input["a?"]"#, "input \"a?\""),
        ("$prev.user-id", "prev \"user-id\""),
        ("$input.naïve", "input \"naïve\""),
        ("$input.items[3].name?", "input \"items\" [3] \"name\" ?"),
        ("$input?", "input ?"),
        ("$prev?", "prev ?"),
        ("$steps.search?", "steps(search) ?"),
        (r#"$input["a b"]?"#, "input \"a b\" ?"),
        ("$input.length", "input \"length\""),
    ];
    for (text, want) in forms {
        let reference = reference(strict(text).unwrap_or_else(|error| panic!("{text}: {error}")));
        assert_eq!(shown(&reference), want, "{text}");
        assert_eq!(reference.text, text);
        for segment in &reference.path {
            assert!(text.get(segment.span.clone()).is_some_and(|part| !part.is_empty()), "{text}: {segment:?}");
        }
    }
}

#[test]
fn segments_know_their_place() {
    let reference = reference(strict(r#"$steps["a b"].c["d e"][7].8?"#).unwrap());
    let text = reference.text.as_str();
    assert_eq!(&text[reference.root_span.clone()], r#"$steps["a b"]"#);
    let parts: Vec<&str> = reference.path.iter().map(|segment| &text[segment.span.clone()]).collect();
    assert_eq!(parts, ["c", r#""d e""#, "7", "8"]);
}

#[test]
fn other_texts_are_text_and_two_dollars_are_one() {
    let literals = [
        ("", ""),
        ("x", "x"),
        ("$", "$"),
        ("$$", "$$"),
        ("$5.00", "$5.00"),
        ("$ input", "$ input"),
        ("$_x", "$_x"),
        ("$.a", "$.a"),
        ("US$", "US$"),
        (" $input", " $input"),
        ("cost: $input.amount", "cost: $input.amount"),
        ("$$input.x", "$input.x"),
        ("$$nonsense[", "$nonsense["),
        ("$$$input", "$$input"),
        ("$$5", "$5"),
    ];
    for (text, want) in literals {
        assert_eq!(strict(text).unwrap(), Parsed::Literal(want.into()), "{text}");
    }
}

/// Text, the offending part between `»` and `«`, what was expected, the suggestion.
const WRONG: &[(&str, Expected, Option<&str>)] = &[
    ("$»typo«", Expected::Root, None),
    ("$»inptu«.topic", Expected::Root, Some("$input.topic")),
    ("$»inputs«.x", Expected::Root, Some("$input.x")),
    ("$»INPUT«.x", Expected::Root, Some("$input.x")),
    ("$»previous«.x", Expected::Root, Some("$prev.x")),
    ("$»step«.search", Expected::Root, Some("$steps.search")),
    ("$»step«", Expected::Root, Some("$steps[0]")),
    ("$»step«.0.x", Expected::Root, Some("$steps[0].x")),
    ("$»ünput«", Expected::Root, Some("$input")),
    ("$input.»«", Expected::Name, Some("$input")),
    ("$input.a.»«", Expected::Name, Some("$input.a")),
    ("$prev.»«", Expected::Name, Some("$prev")),
    ("$input.».«q", Expected::Name, Some("$input.q")),
    ("$input.»[«0]", Expected::Name, Some("$input[0]")),
    ("$input.»?«", Expected::Name, Some("$input?")),
    ("$input[»x«]", Expected::Bracket, Some(r#"$input["x"]"#)),
    ("$input[»'a key'«].b", Expected::Bracket, Some(r#"$input["a key"].b"#)),
    ("$steps[»one«].x", Expected::Bracket, Some(r#"$steps["one"].x"#)),
    ("$prev.items»[]«", Expected::Bracket, Some("$prev.items[0]")),
    ("$input[»é«]", Expected::Bracket, Some(r#"$input["é"]"#)),
    ("$input[»\"a«", Expected::ClosingQuote, Some(r#"$input["a"]"#)),
    ("$input[»\"a]«", Expected::ClosingQuote, Some(r#"$input["a"]"#)),
    ("$input[»\"\\q\"«]", Expected::Escape, None),
    ("$steps[0»«", Expected::ClosingBracket, Some("$steps[0]")),
    ("$input[0»«", Expected::ClosingBracket, Some("$input[0]")),
    ("$input[0».«a", Expected::ClosingBracket, Some("$input[0].a")),
    ("$input[\"a\"»«", Expected::ClosingBracket, Some(r#"$input["a"]"#)),
    ("$input[»01«]", Expected::CanonicalIndex, Some("$input[1]")),
    ("$steps[»00«].x", Expected::CanonicalIndex, Some("$steps[0].x")),
    ("$input[»4294967296«]", Expected::CanonicalIndex, None),
    ("$input» «topic", Expected::PathOrEnd, Some(r#"$input["topic"]"#)),
    ("$input.first» «name", Expected::PathOrEnd, Some(r#"$input["first name"]"#)),
    ("$input.a»/«b", Expected::PathOrEnd, Some(r#"$input["a/b"]"#)),
    ("$input.a» «", Expected::PathOrEnd, Some("$input.a")),
    ("$input.a?».b«", Expected::EndAfterOptional, Some("$input.a.b?")),
    ("$input.a?»?«", Expected::EndAfterOptional, Some("$input.a?")),
    ("$input[\"a?\"]?».b«", Expected::EndAfterOptional, Some(r#"$input["a?"].b?"#)),
    ("$steps»«", Expected::Step, Some("$steps[0]")),
    ("$steps»?«", Expected::Step, Some("$steps[0]?")),
    ("$steps.»0«.x", Expected::Step, Some("$steps[0].x")),
];

#[test]
fn every_mistake_is_marked_and_has_the_nearest_form() {
    for (marked, want, suggestion) in WRONG {
        let start = marked.find('»').unwrap();
        let end = marked.find('«').unwrap() - '»'.len_utf8();
        let text = marked.replace(['»', '«'], "");
        match strict(&text) {
            Err(ReferenceError::Syntax { text: whole, span, expected, nearest }) => {
                assert_eq!(whole, text);
                assert_eq!((expected, span.clone()), (*want, start..end), "{text}: marked `{}`", &text[span.start..]);
                assert_eq!(nearest.as_deref(), *suggestion, "{text}");
                if let Some(nearest) = nearest {
                    assert!(matches!(strict(&nearest), Ok(Parsed::Reference(_))), "{text}: the suggestion {nearest} is wrong itself");
                }
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn every_expectation_has_an_input_that_produces_it() {
    let produced: BTreeSet<String> = WRONG.iter().map(|(_, expected, _)| format!("{expected:?}")).collect();
    let all: BTreeSet<String> = Expected::ALL.iter().map(|expected| format!("{expected:?}")).collect();
    assert_eq!(produced, all);
    for (text, expected) in [
        ("$typo", Expected::Root),
        ("$input.", Expected::Name),
        ("$input[x]", Expected::Bracket),
        ("$input[\"a", Expected::ClosingQuote),
        ("$input[\"\\q\"]", Expected::Escape),
        ("$input[0", Expected::ClosingBracket),
        ("$input[01]", Expected::CanonicalIndex),
        ("$input topic", Expected::PathOrEnd),
        ("$input.a?.b", Expected::EndAfterOptional),
        ("$steps", Expected::Step),
    ] {
        assert!(matches!(strict(text), Err(ReferenceError::Syntax { expected: found, .. }) if found == expected), "{text}");
    }
}

#[test]
fn errors_read_well() {
    for (marked, ..) in WRONG {
        let text = marked.replace(['»', '«'], "");
        let error = strict(&text).unwrap_err();
        assert_eq!(error.code(), "invalid_reference");
        for said in [error.to_string(), error.help()] {
            assert!(!said.contains('\n') && !said.ends_with('.') && !said.starts_with(char::is_uppercase), "{said}");
        }
        assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
    }
}

#[test]
fn the_page_has_exactly_six_forms() {
    let forms = [
        ("$input", "input"),
        ("$input.a.b", "input \"a\" \"b\""),
        ("$input.", "input \"\""),
        ("$input.a..b", "input \"a\" \"\" \"b\""),
        ("$input.0", "input \"0\"|[0]"),
        ("$input.00", "input \"00\""),
        ("$input.a b", "input \"a b\""),
        ("$input.length", "input \"length\""),
        ("$input.a[0]", "input \"a[0]\""),
        ("$input.x?", "input \"x?\""),
        ("$prev", "prev"),
        ("$prev.snippet", "prev \"snippet\""),
        ("$steps[0]", "steps[0]"),
        ("$steps[007]", "steps[7]"),
        ("$steps[0].output.data", "steps[0] \"output\" \"data\""),
    ];
    for (text, want) in forms {
        let shown = shown(&reference(page(text)));
        assert_eq!(shown.trim_end_matches(" ?"), want, "{text}");
    }
    let literal = [
        "$inputs",
        "$inputx.y",
        "$input[0]",
        "$input?",
        "$prevx",
        "$prev[0]",
        "$steps",
        "$steps.search",
        "$steps[\"a\"]",
        "$steps[]",
        "$steps[-1]",
        "$steps[1",
        "$steps[1]x",
        "$steps[1][0]",
        "$",
        "$5.00",
        "$$input.x",
        "$ input",
        "$INPUT",
    ];
    for text in literal {
        assert_eq!(page(text), Parsed::Unresolved(text.into()), "{text}");
    }
    for text in ["", "x", " $input", "a $prev"] {
        assert_eq!(page(text), Parsed::Literal(text.into()), "{text}");
    }
    // A position that no composite can have is a reference all the same: it is out of range.
    assert_eq!(shown(&reference(page("$steps[99999999999999999999999999]"))).split(' ').next(), Some(&*format!("steps[{}]", usize::MAX)));
}

#[test]
fn a_suggestion_is_near() {
    use toolwright::nearest::nearest;
    let known = ["search", "send", "a", "prev", "files/read"];
    for (word, want) in [
        ("serach", Some("search")),
        ("Search", Some("search")),
        ("sned", Some("send")),
        ("sear", Some("search")),
        ("previous", Some("prev")),
        ("file/read", Some("files/read")),
        ("b", None),
        ("", None),
        ("ab", Some("a")),
        ("nothing-like-it", None),
    ] {
        assert_eq!(nearest(word, known), want, "{word}");
    }
    assert_eq!(nearest("x", []), None);
}

/// A program puts a name in the place of another only where nothing else can have been meant.
#[test]
fn a_slip_of_the_pen_is_told_from_another_name() {
    use toolwright::nearest::{unmistakable, unmistakable_keyword};
    for (word, names, want) in [
        ("titel", "title text", Some("title")),
        ("adress", "address", Some("address")),
        ("contry", "country", Some("country")),
        ("user_nmae", "user_name", Some("user_name")),
        ("userName", "user_name", Some("user_name")),
        ("ÄHRE", "ähre", Some("ähre")),
        ("title", "title titel", None),
        ("titel", "title titles", None),
        ("max_price", "min_price", None),
        ("fest", "fast best", None),
        ("past", "fast", None),
        ("form", "from", None),
        ("user_form", "user_from", None),
        ("item", "items", None),
        ("path", "patch", None),
        ("v1_1x", "v11x", None),
        ("column1", "column2", None),
        ("nmae1", "name2", None),
        ("ab", "ba", None),
        ("", "x", None),
    ] {
        assert_eq!(unmistakable(word, names.split(' ')), want, "{word}");
    }
    for (word, names, want) in [
        ("composite", "composites", Some("composites")),
        ("descripton", "description", Some("description")),
        ("desxription", "description", Some("description")),
        ("args", "argv", None),
        ("evn", "env", None),
        ("tools2", "tools1", None),
    ] {
        assert_eq!(unmistakable_keyword(word, names.split(' ')), want, "{word}");
    }
    // Where there are too many to look at, none can be said to be the only one.
    let many: Vec<String> = (0..=toolwright::limits::NEAREST_CANDIDATES_MAX).map(|at| format!("tool_{at}")).collect();
    assert_eq!(unmistakable("serach", many.iter().map(String::as_str).chain(["search"])), None);
}
