<?php
require 'find.php';
if (!posted()) go('/index.php');
checked();
$found = find("//person[name='?' and word='?']/name", text($_POST, 'account'), text($_POST, 'word'));
show('Enter', $found && $found->length ? '<p>Welcome, ' . h($found[0]->textContent) . '.</p>' : '<p>Wrong name or word.</p>');
