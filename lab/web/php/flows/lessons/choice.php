<?php
require 'lesson.php';
$out = '';
if (posted()) {
    checked();
    $id = text($_POST, 'id');
    if (level() === 'medium') $id = db()->real_escape_string($id);
    $r = level() === 'high' ? db()->execute_query('SELECT name, price FROM items WHERE id = ?', [$id])
        : db()->query('SELECT name, price FROM items WHERE id = ' . (level() === 'low' ? "'$id'" : $id));
    if ($r === false) $out = '<p>Something went wrong.</p>';
    else foreach ($r->fetch_all(MYSQLI_ASSOC) as $i) $out .= "<p>$i[name]: $i[price] EUR</p>";
}
$options = '';
foreach ([1, 2, 3, 4, 5] as $n) $options .= "<option value=\"$n\">$n</option>";
show('A choice', form('/choice.php', hidden() . "<select name=\"id\">$options</select>", 'Send') . $out);
