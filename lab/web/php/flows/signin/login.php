<?php
// A login with all that may be wrong with one.
require 'lab.php';
$weak = variant('weak');
begin($weak ? ['use_strict_mode' => false, 'cookie_httponly' => false, 'cookie_samesite' => ''] : ['cookie_samesite' => 'Strict']);
$to = text($_REQUEST, 'next', '/account.php');
if (!$weak && !preg_match('#^/(?![/\\\\])[\x21-\x7e]*$#D', $to)) $to = '/account.php';
$wrong = '';
if (posted()) {
    checked();
    $name = text($_POST, 'username');
    $tries = row('SELECT COUNT(*) AS n FROM tries WHERE name = ? AND at > ?', $name, time() - 60)['n'];
    if (!$weak && $tries >= 6) { http_response_code(429); show('Log in', '<p>Too many attempts. Wait a minute.</p>'); }
    rows('INSERT INTO tries VALUES (?, ?)', $name, time());
    $u = person($name, text($_POST, 'password'));
    if ($weak && $name === 'admin' && text($_POST, 'password') === 'admin') $u = row('SELECT * FROM users WHERE id = 1');
    if ($u) {
        rows('DELETE FROM tries WHERE name = ?', $name);
        if (!$weak) session_regenerate_id(true);
        $_SESSION['user'] = $u['name'];
        go(str_replace(["\r", "\n"], '', $to), 303);
    }
    http_response_code(401);
    $known = row('SELECT id FROM users WHERE name = ?', $name);
    $wrong = !$weak ? '<p>Wrong name or password.</p>' : ($known ? '<p>The password is wrong.</p>' : '<p>There is no such user.</p>');
}
show('Log in', $wrong . form('/login.php', hidden() . field('next', $to, 'hidden') . field('username') . field('password', '', 'password'), 'Log in'));
