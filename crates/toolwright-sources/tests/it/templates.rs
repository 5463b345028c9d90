use proptest::prelude::*;
use toolwright_sources::command::{ArgTemplate, TemplateErrorKind};

#[test]
fn placeholders_are_read_with_their_marks_and_places() {
    let template = ArgTemplate::parse("--größe={{{max-count?}}}{b}").unwrap();
    let read: Vec<_> =
        template.placeholders().map(|slot| (slot.name(), slot.is_optional(), slot.is_spread(), &template.as_str()[slot.span()])).collect();
    assert_eq!(read, [("max-count", true, false, "{max-count?}"), ("b", false, false, "{b}")]);

    let spread = ArgTemplate::parse("{files*?}").unwrap();
    let slot = spread.placeholders().next().unwrap();
    assert!(slot.is_spread() && slot.is_optional());
    assert_eq!(spread.names().collect::<Vec<_>>(), ["files"]);
}

#[test]
fn every_rule_has_an_input_that_breaks_it() {
    for kind in TemplateErrorKind::ALL {
        let error = ArgTemplate::parse(kind.example()).unwrap_err();
        assert_eq!(error.kind, kind);
    }
}

/// Text, rule, the part of the text it points at, a piece of the help.
const BROKEN: &[(&str, TemplateErrorKind, &str, &str)] = &[
    ("--n={limit", TemplateErrorKind::Unclosed, "{limit", "`{limit}`"),
    ("a{", TemplateErrorKind::Unclosed, "{", "`{{`"),
    ("ä}b", TemplateErrorKind::StrayBrace, "}", "`}}`"),
    ("x{}y", TemplateErrorKind::NoName, "{}", "`{{}}`"),
    ("{?}", TemplateErrorKind::NoName, "{?}", "`{path}`"),
    ("{ path }", TemplateErrorKind::BadName, "{ path }", "write `{path}`, without blanks"),
    ("{ path? }", TemplateErrorKind::BadName, "{ path? }", "write `{path?}`"),
    ("{print $1}", TemplateErrorKind::BadName, "{print $1}", "write `{{` and `}}`"),
    ("{\"a\": 1}", TemplateErrorKind::BadName, "{\"a\": 1}", "write `{{` and `}}`"),
    ("{a{b}", TemplateErrorKind::BadName, "{a{b}", "a name holds"),
    ("{a?*}", TemplateErrorKind::BadMarks, "{a?*}", "write `{a*?}`"),
    ("{a**}", TemplateErrorKind::BadMarks, "{a**}", "write `{a*}`"),
    ("{a??}", TemplateErrorKind::BadMarks, "{a??}", "write `{a?}`"),
    ("-I{dirs*}", TemplateErrorKind::SpreadNotAlone, "{dirs*}", "write `{dirs*}` as an element of its own"),
    ("{a*}{b}", TemplateErrorKind::SpreadNotAlone, "{a*}", "stands alone"),
];

#[test]
fn errors_show_their_place_and_teach() {
    for (text, kind, place, help) in BROKEN {
        let error = ArgTemplate::parse(text).unwrap_err();
        assert_eq!(error.kind, *kind, "{text}");
        assert_eq!(&text[error.span.clone()], *place, "{text}");
        assert!(error.help.contains(help), "{text}: {}", error.help);
        assert!(!error.message.contains('\n') && !error.message.ends_with('.'), "{text}: {}", error.message);
    }
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_an_error_with_a_place_in_it(text in "[{}?* a-c\\PC]{0,24}") {
        match ArgTemplate::parse(&text) {
            Ok(template) => prop_assert_eq!(template.as_str(), text),
            Err(error) => prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error),
        }
    }

    #[test]
    fn a_literal_prints_itself(text in "[{}?* a-c\\PC]{0,24}") {
        let literal = ArgTemplate::literal(text.as_str());
        prop_assert_eq!(ArgTemplate::parse(literal.as_str()).unwrap(), literal.clone());
        prop_assert_eq!(literal.names().count(), 0);
    }
}
