//! Any text as a reference, in both dialects: no panic, spans inside the text, suggestions that are right themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright::reference::parse::Parsed;
use toolwright::reference::{ReferenceError, parse_page, parse_strict};
use toolwright::value::Text;

fuzz_target!(|text: &str| {
    let shared = Text::from(text);
    match parse_strict(&shared) {
        Ok(Parsed::Reference(reference)) => {
            assert!(text.get(reference.root_span.clone()).is_some());
            assert!(reference.path.iter().all(|segment| text.get(segment.span.clone()).is_some_and(|part| !part.is_empty())));
        }
        Ok(Parsed::Literal(literal)) => assert!(text == literal || text.strip_prefix('$') == Some(&literal)),
        Ok(Parsed::Unresolved(_)) => panic!("only the page has unresolved texts"),
        Err(error) => {
            assert!(text.starts_with('$') && text.get(error.span()).is_some());
            assert!(!error.to_string().contains('\n') && !error.help().contains('\n'));
            if let ReferenceError::Syntax { nearest: Some(nearest), .. } = &error {
                assert!(matches!(parse_strict(&nearest.as_str().into()), Ok(Parsed::Reference(_))), "{nearest}");
            }
        }
    }
    match parse_page(&shared) {
        Parsed::Literal(literal) => assert!(literal == text && !text.starts_with('$')),
        Parsed::Unresolved(literal) => assert!(literal == text && text.starts_with('$')),
        Parsed::Reference(reference) => {
            assert!(reference.path.iter().all(|segment| text.get(segment.span.clone()).is_some()));
        }
    }
});
