//! Tokens of an authorization server: made here with real keys, and published as one would.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolwright_mcp::server::{Algorithm, KeySource, OAuth};

use super::*;

const RESOURCE: &str = "https://tools.example.com/mcp";
const ISSUER: &str = "https://login.example.com";

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

type Sign = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// A key that signs tokens, and what is published of it.
struct Signer {
    jwk: Json,
    alg: &'static str,
    kid: String,
    sign: Box<Sign>,
}

impl Signer {
    fn ed25519(kid: &str) -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": base64(key.public_key().as_ref())});
        Self { jwk, alg: "EdDSA", kid: kid.to_owned(), sign: Box::new(move |text| key.sign(text).as_ref().to_vec()) }
    }

    fn p256(kid: &str) -> Self {
        let random = SystemRandom::new();
        let how = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(how, pkcs8.as_ref(), &random).unwrap();
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let jwk = json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": base64(x), "y": base64(y)});
        Self { jwk, alg: "ES256", kid: kid.to_owned(), sign: Box::new(move |text| key.sign(&random, text).unwrap().as_ref().to_vec()) }
    }

    fn rsa(kid: &str, alg: &'static str) -> Self {
        // Made for these tests; it opens nothing.
        let text: String = include_str!("rsa_for_tests.txt").split_whitespace().collect();
        let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap();
        let public: signature::RsaPublicKeyComponents<Vec<u8>> = key.public().into();
        let jwk = json!({"kty": "RSA", "kid": kid, "n": base64(&public.n), "e": base64(&public.e)});
        let sign = move |text: &[u8]| {
            let how: &'static dyn signature::RsaEncoding =
                if alg == "PS256" { &signature::RSA_PSS_SHA256 } else { &signature::RSA_PKCS1_SHA256 };
            let mut out = vec![0; key.public().modulus_len()];
            key.sign(how, &SystemRandom::new(), text, &mut out).unwrap();
            out
        };
        Self { jwk, alg, kid: kid.to_owned(), sign: Box::new(sign) }
    }

    fn token(&self, claims: &Json) -> String {
        self.token_with(&json!({"alg": self.alg, "kid": self.kid, "typ": "at+jwt"}), claims)
    }

    fn token_with(&self, head: &Json, claims: &Json) -> String {
        let signed = format!("{}.{}", base64(head.to_string().as_bytes()), base64(claims.to_string().as_bytes()));
        let signature = (self.sign)(signed.as_bytes());
        format!("{signed}.{}", base64(&signature))
    }
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// Claims that count, with some of them changed; `null` leaves one out.
fn claims(change: Json) -> Json {
    let mut claims = json!({"iss": ISSUER, "aud": RESOURCE, "sub": "CANARY-alice", "exp": now() + 300, "scope": "tools:write tools:read"});
    for (name, value) in change.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn keys(signers: &[&Signer]) -> String {
    json!({"keys": signers.iter().map(|signer| signer.jwk.clone()).collect::<Vec<_>>()}).to_string()
}

fn oauth(source: KeySource) -> OAuth {
    let mut oauth = OAuth::new(RESOURCE, ISSUER, source);
    oauth.scopes = vec![("tools:all".to_owned(), text("")), ("tools:read".to_owned(), text("readers"))];
    oauth
}

async fn guarded(oauth: OAuth) -> Served {
    Served::with(|_, http| http.access.oauth = Some(oauth)).await
}

fn slow(served: &Served, token: &str) -> RequestBuilder {
    served.single("tools/call", json!({"name": "slow", "arguments": {}})).bearer_auth(token)
}

#[tokio::test]
async fn it_is_published_where_tokens_come_from() {
    let signer = Signer::ed25519("k");
    let served = guarded(oauth(KeySource::Text(keys(&[&signer])))).await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let response = served.client.get(format!("http://{}{path}", served.address)).send().await.unwrap();
        assert_eq!((response.status(), kind(&response).as_str()), (StatusCode::OK, "application/json"), "{path}");
        assert_eq!(
            reply(response).await,
            json!({"resource": RESOURCE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"], "scopes_supported": ["tools:all", "tools:read"]})
        );
    }
    let elsewhere = served.client.get(format!("http://{}/.well-known/oauth-protected-resource/other", served.address));
    assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let response = served.single("tools/list", json!({})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer resource_metadata=\"https://tools.example.com/.well-known/oauth-protected-resource/mcp\", scope=\"tools:all tools:read\""
    );
    let named = served.single("tools/list", json!({})).header("host", "tools.example.com").send().await.unwrap();
    assert_eq!(named.status(), StatusCode::UNAUTHORIZED, "under its published name it is reached");
}

#[tokio::test]
async fn tokens_of_every_kind_of_key_count_and_scopes_say_who_sees_what() {
    let (ed, ec) = (Signer::ed25519("ed"), Signer::p256("ec"));
    let (rs, ps) = (Signer::rsa("rs", "RS256"), Signer::rsa("ps", "PS256"));
    let served = guarded(oauth(KeySource::Text(keys(&[&ed, &ec, &rs, &ps])))).await;
    for signer in [&ed, &ec, &rs, &ps] {
        for (scope, tools) in [("tools:all", 3), ("tools:read tools:all", 3), ("tools:read", 1)] {
            let token = signer.token(&claims(json!({"scope": scope})));
            let response = served.single("tools/list", json!({})).bearer_auth(token).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::OK, "{} {scope}", signer.alg);
            assert_eq!(reply(response).await["result"]["tools"].as_array().unwrap().len(), tools, "{} {scope}", signer.alg);
        }
    }
    let elsewhere = served.single("tools/list", json!({})).bearer_auth(ed.token(&claims(json!({"scope": null, "scp": ["tools:read"]}))));
    assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::OK, "`scp` as a list");
}

/// What is wrong with a token, and that it then calls nothing and shows up nowhere.
#[tokio::test]
async fn tokens_that_do_not_count_call_nothing() {
    let (ours, theirs) = (Signer::p256("ours"), Signer::p256("ours"));
    let rsa = Signer::rsa("rsa", "RS256");
    let served = guarded(oauth(KeySource::Text(keys(&[&ours, &rsa])))).await;
    let good = claims(json!({"scope": "tools:all"}));
    let head = |alg: &str| json!({"alg": alg, "kid": "ours"});
    let mut forged = ours.token(&good);
    let cut = forged.rfind('.').unwrap();
    forged.replace_range(cut.., ".AAAA");
    let swapped = {
        let (one, two) = (ours.token(&good), ours.token(&claims(json!({"sub": "eve", "scope": "tools:all"}))));
        let signature = one.rsplit_once('.').unwrap().1.to_owned();
        format!("{}.{signature}", two.rsplit_once('.').unwrap().0)
    };
    let unsigned = ours.token_with(&head("none"), &good);
    let rows: Vec<(&str, String, u16)> = vec![
        ("expired", ours.token(&claims(json!({"exp": now() - 60}))), 401),
        ("never expires", ours.token(&claims(json!({"exp": null}))), 401),
        ("expires in words", ours.token(&claims(json!({"exp": "tomorrow"}))), 401),
        ("not yet", ours.token(&claims(json!({"nbf": now() + 120}))), 401),
        ("from the future", ours.token(&claims(json!({"iat": now() + 120}))), 401),
        ("another issuer", ours.token(&claims(json!({"iss": "https://login.example.com/"}))), 401),
        ("no issuer", ours.token(&claims(json!({"iss": null}))), 401),
        ("for another server", ours.token(&claims(json!({"aud": "https://other.example.com"}))), 401),
        ("for other servers", ours.token(&claims(json!({"aud": ["https://a.example.com", "https://b.example.com"]}))), 401),
        ("for nobody", ours.token(&claims(json!({"aud": null}))), 401),
        ("of nobody", ours.token(&claims(json!({"sub": null}))), 401),
        ("signed by another key", theirs.token(&good), 401),
        ("a key that is not known", Signer::p256("other").token(&good), 401),
        ("a forged signature", forged, 401),
        ("the signature of another token", swapped, 401),
        ("no signature", format!("{}.", unsigned.rsplit_once('.').unwrap().0), 401),
        ("alg none", unsigned, 401),
        ("alg HS256", ours.token_with(&head("HS256"), &good), 401),
        ("an alg of another kind of key", ours.token_with(&head("RS256"), &good), 401),
        ("an alg that is not allowed", rsa.token_with(&json!({"alg": "RS512", "kid": "rsa"}), &good), 401),
        ("extensions", ours.token_with(&json!({"alg": "ES256", "kid": "ours", "crit": ["x"]}), &good), 401),
        ("an identity token", ours.token_with(&json!({"alg": "ES256", "kid": "ours", "typ": "id+jwt"}), &good), 401),
        ("no token", "not.a.token".to_owned(), 401),
        ("one part", "canary".to_owned(), 401),
        ("four parts", format!("{}.x", ours.token(&good)), 401),
        ("too long", "x".repeat(20_000), 401),
        ("no scope", ours.token(&claims(json!({"scope": null}))), 403),
        ("another scope", ours.token(&claims(json!({"scope": "tools:al tools:all:not"}))), 403),
    ];
    for (what, token, status) in rows {
        let response = slow(&served, &token).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let code = if status == 401 { "invalid_token" } else { "insufficient_scope" };
        assert!(challenge.contains(code) && challenge.contains("resource_metadata="), "{what}: {challenge}");
        let said = format!("{challenge}{}", response.text().await.unwrap());
        assert!(!said.contains("CANARY") && !token.split('.').any(|part| part.len() > 7 && said.contains(part)), "{what}: {said}");
    }
    assert_eq!(served.counts.started(), 0);
    assert_eq!(slow(&served, &ours.token(&good)).send().await.unwrap().status(), StatusCode::OK);
    let several = claims(json!({"aud": ["https://other.example.com", RESOURCE], "scope": "tools:all"}));
    assert_eq!(slow(&served, &ours.token(&several)).send().await.unwrap().status(), StatusCode::OK);
    let just_expired = claims(json!({"exp": now() - 5, "scope": "tools:all"}));
    assert_eq!(slow(&served, &ours.token(&just_expired)).send().await.unwrap().status(), StatusCode::OK, "clocks differ");
    assert_eq!(served.counts.started(), 3);
}

/// An authorization server that publishes keys, and counts how often it is asked.
struct Publisher {
    url: String,
    text: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Publisher {
    async fn new(text: Option<String>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let (text, asked) = (Arc::new(Mutex::new(text)), Arc::new(AtomicUsize::new(0)));
        let (published, count) = (text.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = socket.read(&mut [0; 4_096]).await;
                let (status, body) = match published.lock().unwrap().clone() {
                    Some(text) => ("200 OK", text),
                    None => ("500 Oops", String::new()),
                };
                let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, text, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn keys_are_fetched_once_and_again_for_a_new_one_but_not_at_every_strange_name() {
    let (old, new) = (Signer::ed25519("old"), Signer::ed25519("new"));
    let publisher = Publisher::new(Some(keys(&[&old]))).await;
    let served = guarded(oauth(KeySource::Url(publisher.url.clone()))).await;
    let status = async |token: String| slow(&served, &token).send().await.unwrap().status().as_u16();
    let good = || claims(json!({"scope": "tools:all"}));
    assert_eq!(publisher.asked(), 0, "not before a token comes");
    let together: Vec<_> = (0..8).map(|_| status(old.token(&good()))).collect();
    assert_eq!(futures_util::future::join_all(together).await, [200; 8]);
    assert_eq!(publisher.asked(), 1, "once for all of them");
    *publisher.text.lock().unwrap() = Some(keys(&[&old, &new]));
    for strange in 0..5 {
        assert_eq!(status(Signer::ed25519(&format!("strange {strange}")).token(&good())).await, 401);
    }
    assert_eq!(publisher.asked(), 1, "within half a minute nobody asks again, whatever tokens name");
    assert_eq!(status(new.token(&good())).await, 401);
    assert_eq!(status(old.token(&good())).await, 200);
}

#[tokio::test]
async fn without_keys_nobody_is_let_in_and_it_is_nobody_s_fault() {
    let signer = Signer::ed25519("k");
    let publisher = Publisher::new(None).await;
    let served = guarded(oauth(KeySource::Url(publisher.url.clone()))).await;
    let token = signer.token(&claims(json!({"scope": "tools:all"})));
    let response = slow(&served, &token).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    assert!(error(response).await.1.contains("try again"));
    assert_eq!(served.counts.started(), 0);
    *publisher.text.lock().unwrap() = Some(keys(&[&signer]));
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(slow(&served, &token).send().await.unwrap().status(), StatusCode::OK, "once there are keys");
}

#[tokio::test]
async fn keys_in_a_file_and_further_names_of_this_server() {
    let signer = Signer::p256("k");
    let path = std::env::temp_dir().join(format!("toolwright-keys-{}.json", std::process::id()));
    std::fs::write(&path, keys(&[&signer])).unwrap();
    let mut config = oauth(KeySource::File(path.clone()));
    config.accepted_audiences.push("api://tools".to_owned());
    config.scopes_required.push("openid".to_owned());
    let served = guarded(config).await;
    let status = async |change: Json| slow(&served, &signer.token(&claims(change))).send().await.unwrap().status().as_u16();
    assert_eq!(status(json!({"aud": "api://tools", "scope": "openid tools:all"})).await, 200);
    assert_eq!(status(json!({"aud": "api://tools", "scope": "tools:all"})).await, 403, "a scope that all must have");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_wrong_with_the_configuration_is_said_at_once() {
    let mut config =
        OAuth::new("http://tools.example.com/mcp", "login.example.com", KeySource::Url("http://login.example.com/jwks".to_owned()));
    config.algorithms.clear();
    config.scopes.push(("two words".to_owned(), text("")));
    let problems = config.problems();
    assert_eq!(problems.len(), 6, "{problems:#?}");
    let local = OAuth::new("http://127.0.0.1:1/mcp", "http://localhost:2", KeySource::Url("http://localhost:2/jwks?x=1".to_owned()));
    assert!(local.problems().is_empty(), "{:?}", local.problems());
    assert_eq!(local.algorithms.iter().filter(|algorithm| Algorithm::ALL.contains(algorithm)).count(), 4);
}
