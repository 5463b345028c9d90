//! Keys of an authorization server (RFC 7517), and the signatures that they can check.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use toolwright::{Text, Value};

/// Keys of one set that are looked at.
const KEYS_MAX: usize = 100;

/// A way to sign tokens. Only with public keys: who can check a token must not be able to make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256.
    Rs256,
    /// RSA with PKCS #1 v1.5 and SHA-384.
    Rs384,
    /// RSA with PKCS #1 v1.5 and SHA-512.
    Rs512,
    /// RSA with PSS and SHA-256.
    Ps256,
    /// RSA with PSS and SHA-384.
    Ps384,
    /// RSA with PSS and SHA-512.
    Ps512,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 9] =
        [Self::Rs256, Self::Rs384, Self::Rs512, Self::Ps256, Self::Ps384, Self::Ps512, Self::Es256, Self::Es384, Self::EdDsa];

    /// Its name in tokens (RFC 7518).
    ///
    /// ```
    /// use toolwright_mcp::server::Algorithm;
    /// assert_eq!(Algorithm::parse("RS256").map(Algorithm::name), Some("RS256"));
    /// assert_eq!(Algorithm::parse("none"), None);
    /// assert_eq!(Algorithm::parse("HS256"), None);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The one of that name; none for `none`, and none for those with a shared secret.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    fn takes(self, key: &Material) -> bool {
        match self {
            Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 | Self::Ps384 | Self::Ps512 => matches!(key, Material::Rsa { .. }),
            Self::Es256 => matches!(key, Material::P256(_)),
            Self::Es384 => matches!(key, Material::P384(_)),
            Self::EdDsa => matches!(key, Material::Ed25519(_)),
        }
    }
}

/// The keys that an authorization server signs with.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    id: Option<Text>,
    /// What it is for, where it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a set. Keys that cannot check signatures are left out, as RFC 7517 wants.
    ///
    /// # Errors
    /// When it is no set, or holds no key that can be used.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let set = Value::parse(text).map_err(|_| "it is not JSON".to_owned())?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("it has no member `keys` with a list")?;
        let keys: Vec<Key> = keys.iter().take(KEYS_MAX).filter_map(Key::read).collect();
        if keys.is_empty() {
            return Err("it holds no key for signatures of a kind that is supported (RSA, P-256, P-384, Ed25519)".to_owned());
        }
        Ok(Self { keys })
    }

    /// The key that a token names; where it names none, the only one that fits.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self.keys.iter().filter(|key| key.fits(algorithm)).filter(|key| id.is_none() || key.id.as_deref() == id);
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

impl Key {
    fn read(key: &Value) -> Option<Self> {
        let text = |member: &str| key.get(member).and_then(Value::as_str);
        let bytes = |member: &str| text(member).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let for_signatures = text("use").is_none_or(|what| what == "sig");
        let verifies =
            key.get("key_ops").is_none_or(|all| all.as_array().is_some_and(|all| all.iter().any(|op| op.as_str() == Some("verify"))));
        if !for_signatures || !verifies {
            return None;
        }
        let algorithm = match text("alg") {
            Some(name) => Some(Algorithm::parse(name)?),
            None => None,
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => Material::P256(point(bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { id: text("kid").map(Into::into), algorithm, material })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        algorithm.takes(&self.material) && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether the signature is the key's over that text.
    pub(super) fn signed(&self, algorithm: Algorithm, text: &[u8], sig: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        match &self.material {
            Material::Rsa { n, e } => {
                let how: &signature::RsaParameters = match algorithm {
                    Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(how, text, sig).is_ok()
            }
            Material::P256(key) => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, key).verify(text, sig).is_ok(),
            Material::P384(key) => UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, key).verify(text, sig).is_ok(),
            Material::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(text, sig).is_ok(),
        }
    }
}

/// A point as SEC 1 writes it without compression.
fn point(x: Vec<u8>, y: &[u8], bytes: usize) -> Option<Vec<u8>> {
    if x.len() != bytes || y.len() != bytes {
        return None;
    }
    let mut point = vec![4];
    point.extend(x);
    point.extend(y);
    Some(point)
}
