<?php
require 'inc/forged.php';
$u = need();
$in = variant('get') ? $_REQUEST : $_POST;
if (isset($in['mail'])) {
    if (forged()) { http_response_code(403); show('Mail address', '<p>Forged.</p>'); }
    rows('UPDATE users SET mail = ? WHERE id = ?', text($in, 'mail'), $u['id']);
    go('/mail.php', 303);
}
$fields = (variant('unchecked', 'sound') ? hidden() : '') . field('mail', $u['mail'], 'email');
show('Mail address', '<p>Now: ' . h($u['mail']) . '</p>' . form('/mail.php', $fields, 'Change', variant('get') ? 'get' : 'post'));
