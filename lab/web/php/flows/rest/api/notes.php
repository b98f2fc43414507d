<?php
require 'api.php';
$me = bearer();
$key = text($_GET, 'key');
if ($key === '') answer(array_column(rows('SELECT name FROM notes WHERE owner = ?', $me['name']), 'name'));
$n = row('SELECT * FROM notes WHERE name = ?', $key);
if (!$n) answer(['error' => 'no such note'], 404);
if (!variant('weak') && $n['owner'] !== $me['name']) answer(['error' => 'this note is not yours'], 200);
answer($n);
