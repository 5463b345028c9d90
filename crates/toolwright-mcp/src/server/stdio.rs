//! Stdio: one client at the other end of our standard streams; nothing but frames is written there.
