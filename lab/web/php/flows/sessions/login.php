<?php
require 'own.php';
$wrong = '';
if (posted()) {
    if ($u = person(text($_POST, 'username'), text($_POST, 'password'))) {
        setcookie('sess', id_of($u), ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
        go('/account.php', 303);
    }
    http_response_code(401);
    $wrong = '<p>Wrong name or password.</p>';
}
show('Log in', $wrong . form('/login.php', field('username') . field('password', '', 'password'), 'Log in'));
