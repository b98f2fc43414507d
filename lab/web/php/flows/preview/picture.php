<?php
require 'fetch.php';
if (!posted()) go('/index.php');
checked();
$text = fetch(text($_POST, 'source'));
if ($text === false) { http_response_code(400); show('Picture', '<p>It cannot be fetched.</p>'); }
header('Content-Type: application/octet-stream');
echo $text;
