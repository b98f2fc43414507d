<?php
require 'fetch.php';
$text = fetch(text($_GET, 'link'));
if ($text === false) show('Card', '<p>This link has no preview.</p>');
show('Card', '<p>' . h(preg_match('#<title>(.*?)</title>#s', $text, $m) ? $m[1] : 'No title') . '</p><p>' . h(substr(strip_tags($text), 0, 300)) . '</p>');
