<?php
// Forged requests. "weak" asks for no token, "get" takes its forms by GET, which browsers send with cookies for the same
// site, too; "unchecked" checks a token when one comes. "referer" asks where a request comes from, "sound" for a token.
// Cookies say nothing of sites, as is PHP's way, but in "get".
require_once 'lab.php';
begin(['cookie_samesite' => variant('get') ? 'Lax' : '']);
function forged() {
    if (variant('weak', 'get')) return false;
    if (variant('referer')) {
        $from = $_SERVER['HTTP_ORIGIN'] ?? $_SERVER['HTTP_REFERER'] ?? '';
        return !preg_match('#^http://' . preg_quote($_SERVER['HTTP_HOST'] ?? '', '#') . '(/|$)#D', $from);
    }
    if (variant('unchecked') && !isset($_POST['token'])) return false;
    return !hash_equals(token(), text($_POST, 'token'));
}
