<?php
require 'api.php';
$in = body();
$u = person(text($in, 'username'), text($in, 'password'));
if (!$u) answer(['error' => 'wrong name or password'], 401);
$token = bin2hex(random_bytes(16));
rows('INSERT INTO tokens VALUES (?, ?)', $token, $u['name']);
answer(['token' => $token, 'user' => ['id' => $u['id'], 'name' => $u['name']]]);
