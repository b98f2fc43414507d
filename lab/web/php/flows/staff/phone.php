<?php
require 'find.php';
$list = '';
foreach (find("//person[name='?']/phone", text($_GET, 'name')) ?: [] as $n) $list .= '<li>' . h($n->textContent) . '</li>';
show('Phone', $list ? "<ul>$list</ul>" : '<p>Nobody.</p>');
