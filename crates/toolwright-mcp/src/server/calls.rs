//! The life of a call that a client makes: it runs by itself, and whoever waits for it attaches to it.
