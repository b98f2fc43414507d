<?php
require 'find.php';
$out = '';
if (posted()) {
    $name = text($_POST, 'user');
    $pass = hash('sha256', text($_POST, 'pass'));
    $found = safe() ? rows('SELECT * FROM users WHERE name = ? AND pass = ?', $name, $pass)
        : find("SELECT * FROM users WHERE name = '" . quoted($name) . "' AND pass = '$pass'");
    $out = $found ? '<p>Welcome, ' . h($found[0]['name']) . '.</p>' : '<p>Access denied.</p>';
}
show('Administration', $out . form('/admin.php', field('user') . field('pass', '', 'password'), 'Log in'));
