<?php
require 'lab.php';
$u = need();
show('Mail', '<pre>' . h(row('SELECT text FROM outbox WHERE mail = ?', $u['mail'])['text'] ?? 'none') . '</pre>');
