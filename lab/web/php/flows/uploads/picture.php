<?php
require 'lab.php';
need();
$file = getenv('LAB_DATA') . '/' . preg_replace('/[^0-9a-f]/', '', strtok(text($_GET, 'id'), '.')) . '.bin';
if (!is_file($file)) { http_response_code(404); show('Picture', '<p>There is none.</p>'); }
header('Content-Type: image/png');
header('X-Content-Type-Options: nosniff');
header('Content-Disposition: attachment');
readfile($file);
