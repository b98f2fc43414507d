<?php
require 'lesson.php';
header('X-XSS-Protection: 0');
$name = text($_GET, 'name');
if (level() === 'medium') $name = str_replace('<script>', '', $name);
if (level() === 'high') $name = h($name);
show('A greeting', form('/greet.php', field('name', 'anna'), 'Send', 'get') . ($name !== '' ? "<pre>Hello $name</pre>" : ''));
