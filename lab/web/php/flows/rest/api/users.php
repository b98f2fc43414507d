<?php
require 'api.php';
$me = bearer();
if (!variant('weak') && $me['role'] !== 'admin') answer(['error' => 'for administrators'], 403);
answer(array_map('shown', rows('SELECT * FROM users')));
