<?php
// "weak" asks for no token, "get" takes its form by GET too, "unchecked" checks a token when one comes; "referer" asks
// where a request comes from, "sound" for a token.
require 'lab.php';
function forged() {
    if (variant('weak', 'get')) return false;
    if (variant('referer')) {
        $from = $_SERVER['HTTP_ORIGIN'] ?? $_SERVER['HTTP_REFERER'] ?? '';
        return !preg_match('#^http://' . preg_quote($_SERVER['HTTP_HOST'] ?? '', '#') . '(/|$)#D', $from);
    }
    if (variant('unchecked') && !isset($_POST['token'])) return false;
    return !hash_equals(token(), text($_POST, 'token'));
}
