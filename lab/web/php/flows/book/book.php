<?php
require 'lab.php';
if (posted()) {
    checked();
    $name = substr(text($_POST, 'name'), 0, 40);
    $text = substr(text($_POST, 'text'), 0, 300);
    if ($text !== '') rows('INSERT INTO book (name, text) VALUES (?, ?)', $name, $text);
    go('/book.php', 303);
}
$list = '';
foreach (rows('SELECT * FROM book ORDER BY id DESC LIMIT 500') as $b) {
    $t = $b['text'];
    if (variant('strip')) $t = preg_replace('#</?script[^>]*>#i', '', $t);
    if (variant('attr', 'sound')) $t = h($t);
    $list .= '<li>' . h($b['name']) . ": $t</li>";
}
show('Guest book', form('/book.php', hidden() . field('name') . '<textarea name="text"></textarea>', 'Write') . "<ul>$list</ul>");
