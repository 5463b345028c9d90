//! Fakes and case runners.
