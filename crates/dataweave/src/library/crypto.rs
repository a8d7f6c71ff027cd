//! `dw::Crypto`.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use meantime_value::Value;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use super::super::eval::{Eval, Fault, Result};
use super::md2::md2;
use super::native::{Args, Native, Overload, Param};

const KEYED_PARAMS: &[Param] = &[Param::BINARY, Param::BINARY, Param::TEXT];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("MD5", &[Overload::new(&[Param::BINARY], md5)]),
    Native::new("SHA1", &[Overload::new(&[Param::BINARY], sha1)]),
    Native::new("hashWith", &[Overload::new(&[Param::BINARY, Param::TEXT], hash_with).optional(1)]),
    Native::new("HMACBinary", &[Overload::new(KEYED_PARAMS, hmac_binary).optional(1)]),
    Native::new("HMACWith", &[Overload::new(KEYED_PARAMS, hmac_with).optional(1)]),
];

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn md5(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let bytes = args.binary(0);
    eval.charge(bytes.len() as u64)?;
    eval.text(hex(&Md5::digest(&bytes)))
}

fn sha1(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let bytes = args.binary(0);
    eval.charge(bytes.len() as u64)?;
    eval.text(hex(&Sha1::digest(&bytes)))
}

fn unknown(algorithm: &str) -> Fault {
    Fault::invalid(format!("the algorithm `{algorithm}` is not supported"))
}

fn hash_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let bytes = args.binary(0);
    eval.charge(bytes.len() as u64)?;
    let algorithm = if args.has(1) { args.text(1).to_uppercase() } else { "SHA-1".to_owned() };
    let hash = match algorithm.as_str() {
        "MD2" => md2(&bytes),
        "MD5" => Md5::digest(&bytes).to_vec(),
        "SHA" | "SHA-1" | "SHA1" => Sha1::digest(&bytes).to_vec(),
        "SHA-224" | "SHA224" => Sha224::digest(&bytes).to_vec(),
        "SHA-256" | "SHA256" => Sha256::digest(&bytes).to_vec(),
        "SHA-384" | "SHA384" => Sha384::digest(&bytes).to_vec(),
        "SHA-512" | "SHA512" => Sha512::digest(&bytes).to_vec(),
        "SHA-512/224" | "SHA512/224" => Sha512_224::digest(&bytes).to_vec(),
        "SHA-512/256" | "SHA512/256" => Sha512_256::digest(&bytes).to_vec(),
        other => return Err(unknown(other)),
    };
    Ok(Value::Binary(hash.into()))
}

fn authenticate<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Result<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key)
        .map_err(|_| Fault::invalid("the key has a size that the algorithm does not take"))?;
    mac.update(message);
    Ok(mac.finalize().into_bytes().to_vec())
}

fn hmac(eval: &mut Eval<'_>, args: &Args) -> Result<Vec<u8>> {
    let (key, message) = (args.binary(0), args.binary(1));
    eval.charge((key.len() + message.len()) as u64)?;
    if key.is_empty() {
        return Err(Fault::invalid("the key is empty"));
    }
    let algorithm = if args.has(2) { args.text(2).to_uppercase() } else { "HMACSHA1".to_owned() };
    match algorithm.as_str() {
        "HMACMD5" => authenticate::<Hmac<Md5>>(&key, &message),
        "HMACSHA1" => authenticate::<Hmac<Sha1>>(&key, &message),
        "HMACSHA224" => authenticate::<Hmac<Sha224>>(&key, &message),
        "HMACSHA256" => authenticate::<Hmac<Sha256>>(&key, &message),
        "HMACSHA384" => authenticate::<Hmac<Sha384>>(&key, &message),
        "HMACSHA512" => authenticate::<Hmac<Sha512>>(&key, &message),
        "HMACSHA512/224" => authenticate::<Hmac<Sha512_224>>(&key, &message),
        "HMACSHA512/256" => authenticate::<Hmac<Sha512_256>>(&key, &message),
        other => Err(unknown(other)),
    }
}

fn hmac_binary(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Binary(hmac(eval, args)?.into()))
}

fn hmac_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let code = hmac(eval, args)?;
    eval.text(hex(&code))
}
