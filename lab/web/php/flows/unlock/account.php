<?php
require 'lab.php';
$u = need('/enter.html');
show('Account', '<p>' . h($u['name']) . ': ' . h($u['mail']) . '</p>');
