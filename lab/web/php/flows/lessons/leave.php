<?php
require 'lesson.php';
$to = text($_GET, 'to', '/index.php');
if (level() === 'medium' && preg_match('#^https?://#i', $to)) { http_response_code(500); show('Leave', '<p>Not that far.</p>'); }
if (level() === 'high' && !in_array($to, ['/index.php', '/level.php'], true)) $to = '/index.php';
go(str_replace(["\r", "\n"], '', $to));
