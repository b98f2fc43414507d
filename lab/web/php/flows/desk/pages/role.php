<?php
defined('DESK') || exit;
if (!posted()) go('/index.php?page=people');
checked();
show('People', '<p>' . h(text($_POST, 'person')) . ' is now ' . h(text($_POST, 'level')) . '.</p>');
