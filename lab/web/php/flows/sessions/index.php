<?php
require 'own.php';
$u = whose(text($_COOKIE, 'sess'));
if (!isset($_COOKIE['visit'])) setcookie('visit', (string)random_int(1000, 9999), ['path' => '/', 'httponly' => true, 'samesite' => 'Lax']);
show('Bank', $u ? '<p>Logged in as ' . h($u['name']) . '. <a href="/logout.php">Log out</a> <a href="/account.php">Account</a></p>'
    : '<p><a href="/login.php">Log in</a></p>');
