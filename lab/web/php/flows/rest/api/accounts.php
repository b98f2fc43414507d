<?php
require 'api.php';
$me = bearer();
$u = row('SELECT * FROM users WHERE id = ?', (int)text($_GET, 'id'));
if (!$u || !variant('weak') && $u['id'] !== $me['id']) answer(['error' => 'no such account'], 404);
answer(['id' => $u['id'], 'owner' => $u['name'], 'phone' => $u['phone'], 'iban' => 'XX00 0000 ' . $u['id']]);
