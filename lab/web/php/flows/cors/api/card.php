<?php
// Which origins may read: "reflect" any, "null" that one, "suffix" those with an ending; "sound" one.
require 'api.php';
$from = $_SERVER['HTTP_ORIGIN'] ?? '';
$may = variant('reflect') && $from !== '' || variant('null') && $from === 'null' || $from === 'https://portal.lab.example' ||
    variant('suffix') && (str_ends_with($from, 'lab.example') || str_ends_with($from, $_SERVER['HTTP_HOST'] ?? '-'));
if ($may) {
    header("Access-Control-Allow-Origin: $from");
    header('Access-Control-Allow-Credentials: true');
}
header('Vary: Origin');
$u = user();
answer($u ? ['name' => $u['name'], 'phone' => $u['phone']] : ['error' => 'log in'], $u ? 200 : 401);
