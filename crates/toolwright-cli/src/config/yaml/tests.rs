use proptest::prelude::*;

use super::{Kind, Meaning, Node, parse};
use crate::code;

fn clean(text: &str) -> Node {
    let (root, problems) = parse(text);
    assert!(problems.is_empty(), "{problems:#?}");
    root.unwrap()
}

fn codes(text: &str) -> Vec<&'static str> {
    parse(text).1.into_iter().map(|problem| problem.code).collect()
}

#[test]
fn a_tree_with_places() {
    let text = "a: 1 # c\r\nü: 'it''s'\nlist:\n  - x   \n  - {y: 2, \"z\":3}\n";
    let root = clean(text);
    let at = |pointer: &str| &text[root.pointer(pointer).span.clone()];
    assert_eq!(at("/a"), "1");
    assert_eq!(at("/ü"), "'it''s'");
    assert_eq!(at("/list/0"), "x");
    assert_eq!(at("/list/1"), "{y: 2, \"z\":3}");
    assert_eq!(at("/list/1/z"), "3");
    assert_eq!(at("/list"), "- x   \n  - {y: 2, \"z\":3}");
    // What is not there leads to the last thing that is.
    assert_eq!(at("/list/1/q/r"), "{y: 2, \"z\":3}");
    assert_eq!(&text[root.entry("list").unwrap().key_span.clone()], "list");
}

#[test]
fn numbers_keep_every_digit_and_quotes_mean_text() {
    let root = clean("[12345678901234567890123.10, '1', true, 'true', ~, '', no, 1e400]");
    assert_eq!(root.to_value().to_json_string(), r#"[12345678901234567890123.10,"1",true,"true",null,"","no",1e400]"#);
}

#[test]
fn json_reads_the_same_with_its_own_escapes_and_tabs() {
    let text = "{\"s\":\"\\ud83d\\ude00 \\/ \\u00e9\",\n\t\"a\":1,\t\"b\":[1,\n\t2], \"bad\": \"$x\"}";
    let root = clean(text);
    assert_eq!(root.to_value().to_json_string(), r#"{"s":"😀 / é","a":1,"b":[1,2],"bad":"$x"}"#);
    let bad = root.pointer("/bad");
    assert_eq!(&text[bad.span.clone()], "\"$x\"");
    let smiley = root.pointer("/s");
    let after = "😀".len();
    assert_eq!(&text[smiley.part(text, &(0..after))], "\\ud83d\\ude00");
    assert_eq!(&text[smiley.part(text, &(after + 1..after + 2))], "\\/");
    assert_eq!(codes("{\"s\": \"\\ud83d\"}"), [code::SYNTAX]);
}

#[test]
fn a_part_of_a_text_finds_its_place_however_it_is_written() {
    let part_of = |text: &str, needle: &str| {
        let root = clean(text);
        let node = root.pointer("/k");
        let at = node.text().unwrap().find(needle).unwrap();
        text[node.part(text, &(at..at + needle.len()))].to_owned()
    };
    assert_eq!(part_of("k: $input..q # c\n", ".q"), ".q");
    assert_eq!(part_of("k: '$it''s..q'\n", "..q"), "..q");
    assert_eq!(part_of("k: '$it''s..q'\n", "'s"), "''s");
    assert_eq!(part_of("k: \"a\\tb\\u00e9..q\"\n", "é."), "\\u00e9.");
    assert_eq!(part_of("{k: \"a ${B} c\" }\n", "${B}"), "${B}");
    assert_eq!(part_of("{k: 'a ${B} c'   , l: 1}\n", "${B}"), "${B}");
    assert_eq!(part_of("k: |\n  one\n  two..q\n", "two"), "two");
    // Folded text has no way back: the whole scalar is shown.
    assert_eq!(part_of("k: >\n  one\n  two\n", "two"), "one\n  two\n");
    assert_eq!(part_of("k: one\n  two\n", "two"), "one\n  two");
}

#[test]
fn what_cannot_be_used_is_told_and_reading_goes_on() {
    assert_eq!(codes("a: 1\nb: 2\na: 3\nb: 4\n"), [code::DUPLICATE_KEY; 2]);
    assert_eq!(codes("? [a]\n: b\nc: 007\n"), [code::SYNTAX, code::BAD_VALUE]);
    assert_eq!(codes("a: 1\n---\nb: 2\n"), [code::SYNTAX]);
    assert_eq!(codes("a: !thing x\nb: !!set {}\n"), [code::SYNTAX; 2]);
    assert_eq!(codes("<<: {x: 1}\n"), [code::SYNTAX]);
    assert_eq!(codes("a: &x [*x]\n"), [code::SYNTAX]);
    assert_eq!(codes("a: [1, 2\nb: 3\n"), [code::SYNTAX]);
    let (root, _) = parse("a: 1\na: 2\n");
    assert_eq!(root.unwrap().to_value().to_json_string(), r#"{"a":1}"#);
}

#[test]
fn tags_of_the_core_schema_count() {
    let root = clean("[!!str 12, !!int '5', !!null x, !!str]").to_value();
    assert_eq!(root.to_json_string(), r#"["12",5,"x",""]"#);
}

#[test]
fn aliases_are_copies_within_bounds() {
    let root = clean("a: &x {k: 1}\nb: *x\n");
    assert_eq!(root.to_value().to_json_string(), r#"{"a":{"k":1},"b":{"k":1}}"#);
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let uses = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{uses}]\n"));
    }
    assert_eq!(codes(&bomb), [code::SYNTAX]);
    let mut deep = String::from("a0: &a0 [x]\n");
    for level in 1..300 {
        deep.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert_eq!(codes(&deep), [code::SYNTAX]);
}

#[test]
fn depth_has_a_bound() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(codes(&nested(100)), [""; 0]);
    assert_eq!(codes(&nested(129)), [code::SYNTAX]);
    assert_eq!(codes(&nested(5000)), [code::SYNTAX]);
}

/// Every place lies inside the file and between characters, and every part of every text as well.
fn sound(text: &str) {
    let (root, problems) = parse(text);
    for problem in &problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        if let Some((span, _)) = &problem.related {
            assert!(text.get(span.clone()).is_some(), "{problem:?}");
        }
    }
    let mut todo: Vec<Node> = root.into_iter().collect();
    while let Some(node) = todo.pop() {
        assert!(text.get(node.span.clone()).is_some(), "{node:?}");
        match &node.kind {
            Kind::List(items) => todo.extend(items.iter().cloned()),
            Kind::Map(entries) => {
                for entry in entries {
                    assert!(text.get(entry.key_span.clone()).is_some(), "{entry:?}");
                    todo.push(entry.value.clone());
                }
            }
            Kind::Scalar(scalar) => {
                if let Meaning::Number(digits) = &scalar.meaning {
                    assert!(toolwright::Value::parse(digits).is_ok(), "{digits}");
                }
                for at in 0..=scalar.text.len() {
                    let place = node.part(text, &(at..scalar.text.len()));
                    assert!(text.get(place).is_some(), "{node:?} {at}");
                }
            }
        }
        node.to_value();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,200}") {
        sound(&text);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        sound(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_yaml_like_text_is_read_without_a_panic(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "b: ", ": ", "- ", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ",", "'", "\"", "|", ">", "|2-\n",
                "&x ", "*x", "!!str ", "!t ", "? ", "#c", "---\n", "...\n", "%", "\\u00e9", "\\ud83d\\ude00", "\t", "\r\n",
                "$input.a", "007", "1.5", "<<", "é", "😀", "\u{feff}", "\u{85}", "\u{2028}", "\0",
            ]),
            0..60,
        )
    ) {
        sound(&pieces.concat());
        sound(&format!("{{{}", pieces.concat()));
    }
}

#[test]
fn a_reference_with_brackets_inside_braces_is_to_be_quoted() {
    let help = |text: &str| parse(text).1.first().and_then(|problem| problem.help.clone());
    let quote = Some("quote a reference with brackets inside `{ }`".to_owned());
    for text in ["a: { text: $prev.items[0].x }\n", "a: {t: $steps[0]}\n", "a: {t: [$input.a[1]]}\n", "a: { t: $steps[\"b c\"].x, y: 1 }\n"]
    {
        assert_eq!(help(text), quote, "{text}");
    }
    for text in ["a: { t: '$prev.items[0].x', u: v [0] }\n", "a: {t: $5 [0]}\n", "a: [1, 2\nb: 3\n"] {
        assert_ne!(help(text), quote, "{text}");
    }
}
