<?php
require 'lab.php';
$name = text($_GET, 'name');
if (variant('strip')) $name = str_replace('../', '', $name);
if (variant('base')) $name = basename($name);
if (variant('list') && $name !== 'guide.txt') $name = '';
$file = __DIR__ . '/files/' . $name;
if (!is_file($file)) { http_response_code(404); show('File', '<p>There is no such file.</p>'); }
header('Content-Type: text/plain');
header('X-Content-Type-Options: nosniff');
readfile($file);
