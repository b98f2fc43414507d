<?php
require 'lesson.php';
if (posted()) {
    checked();
    $text = substr(text($_POST, 'text'), 0, 300);
    if (level() === 'medium') $text = preg_replace('#<script\b[^>]*>#i', '', $text);
    if ($text !== '') rows('INSERT INTO book (name, text) VALUES (?, ?)', substr(text($_POST, 'name'), 0, 40), $text);
    go('/wall.php', 303);
}
$list = '';
foreach (rows('SELECT * FROM book ORDER BY id DESC LIMIT 500') as $b)
    $list .= '<div>' . h($b['name']) . ': ' . (level() === 'high' ? h($b['text']) : $b['text']) . '</div>';
show('The wall', form('/wall.php', hidden() . field('name', 'anna') . '<textarea name="text"></textarea>', 'Send') . $list);
