<?php
require 'lesson.php';
$file = text($_GET, 'file', 'one.html');
if (level() === 'medium') $file = str_replace(['http://', 'https://', '../'], '', $file);
if (level() === 'high' && !in_array($file, ['one.html', 'two.html'], true)) show('Read', '<p>There is no such file.</p>');
top('Read');
echo links(['/include.php?file=one.html' => 'One', '/include.php?file=two.html' => 'Two']);
@include __DIR__ . '/' . $file;
bottom();
