<?php
// Tokens of JSON, written by hand. Variants: "none" takes that algorithm, "unsigned" compares no signature, "key" has one
// that is in each list of words, "kid" reads its key from the file that the token names, "confusion" takes the public key
// for a secret.
require_once 'lab.php';
function b64($s) { return rtrim(strtr(base64_encode($s), '+/', '-_'), '='); }
function unb64($s) { return (string)base64_decode(strtr($s, '-_', '+/')); }
function private_key() { return file_get_contents(getenv('LAB_DATA') . '/private.pem'); }
function public_key() { return file_get_contents(__DIR__ . '/public.pem'); }
function secret($head) {
    if (variant('key')) return 'secret';
    if (variant('kid')) return (string)@file_get_contents(__DIR__ . '/keys/' . text($head, 'kid'));
    return file_get_contents(getenv('LAB_DATA') . '/secret');
}
function make($claims) {
    $head = ['alg' => variant('confusion') ? 'RS256' : 'HS256', 'typ' => 'JWT'] + (variant('kid') ? ['kid' => 'first'] : []);
    $text = b64(json_encode($head)) . '.' . b64(json_encode($claims));
    if (variant('confusion')) openssl_sign($text, $sign, private_key(), OPENSSL_ALGO_SHA256);
    else $sign = hash_hmac('sha256', $text, secret($head), true);
    return $text . '.' . b64($sign);
}
function claims($token) {
    $p = explode('.', $token);
    if (count($p) !== 3) return null;
    $head = json_decode(unb64($p[0]), true);
    $claims = json_decode(unb64($p[1]), true);
    if (!is_array($head) || !is_array($claims) || ($claims['exp'] ?? 0) < time()) return null;
    $text = "$p[0].$p[1]";
    if (variant('unsigned') || variant('none') && strtolower(text($head, 'alg')) === 'none') return $claims;
    if (variant('confusion') && text($head, 'alg') === 'RS256')
        return openssl_verify($text, unb64($p[2]), public_key(), OPENSSL_ALGO_SHA256) === 1 ? $claims : null;
    $key = variant('confusion') ? public_key() : secret($head);
    return text($head, 'alg') === 'HS256' && hash_equals(hash_hmac('sha256', $text, $key, true), unb64($p[2])) ? $claims : null;
}
function bearer_of_cookie() { return claims(text($_COOKIE, 'token')) ?: go('/login.php'); }
