<?php
require 'inc/forged.php';
$u = need();
$in = variant('get') ? $_REQUEST : $_POST;
if (isset($in['new'])) {
    if (forged()) { http_response_code(403); show('Password', '<p>Forged.</p>'); }
    if (text($in, 'new') === '' || text($in, 'new') !== text($in, 'again')) show('Password', '<p>They differ.</p>');
    rows('UPDATE users SET pass = SHA2(?, 256) WHERE id = ?', text($in, 'new'), $u['id']);
    show('Password', '<p>Your password was changed.</p>');
}
$fields = (variant('unchecked', 'sound') ? hidden() : '') . field('new', '', 'password') . field('again', '', 'password');
show('Password', form('/password.php', $fields, 'Change', variant('get') ? 'get' : 'post'));
