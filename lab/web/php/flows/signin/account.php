<?php
require 'lab.php';
begin(variant('weak') ? ['use_strict_mode' => false, 'cookie_httponly' => false, 'cookie_samesite' => ''] : ['cookie_samesite' => 'Strict']);
$u = need();
if (posted()) {
    if (!variant('weak')) checked();
    rows('UPDATE users SET mail = ? WHERE id = ?', text($_POST, 'mail'), $u['id']);
    go('/account.php', 303);
}
show('Account', '<p>' . h($u['name']) . ': ' . h($u['mail']) . '</p>' .
    form('/account.php', (variant('weak') ? '' : hidden()) . field('mail', $u['mail'], 'email'), 'Change'));
