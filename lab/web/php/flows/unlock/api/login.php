<?php
// The weak one compares what JSON brought with ==: true is equal to any password.
require 'api.php';
begin();
$in = body();
$u = row('SELECT * FROM users WHERE name = ?', text($in, 'username'));
$word = $in['password'] ?? '';
$fits = $u && (variant('weak') ? (is_string($word) ? hash('sha256', $word) : $word) == $u['pass'] : is_string($word) && person($u['name'], $word));
if (!$fits) answer(['error' => 'wrong name or password'], 401);
session_regenerate_id(true);
$_SESSION['user'] = $u['name'];
answer(['name' => $u['name'], 'role' => $u['role']]);
