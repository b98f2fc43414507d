<?php
require 'host.php';
if (posted()) {
    $text = 'Set a new password: http://' . host() . '/set.php?token=' . bin2hex(random_bytes(16));
    rows('REPLACE INTO outbox SELECT mail, ? FROM users WHERE mail = ?', substr($text, 0, 400), text($_POST, 'mail'));
    show('Forgotten', '<p>If we know you, a mail is on its way.</p>');
}
show('Forgotten', form('/forgot.php', field('mail', 'anna@lab.example', 'email'), 'Send'));
