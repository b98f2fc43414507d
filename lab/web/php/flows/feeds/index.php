<?php
require 'lab.php';
$example = '<feed><entry><title>One</title></entry></feed>';
show('Feeds', form('/import.php', hidden() . '<textarea name="feed">' . h($example) . '</textarea>', 'Import'));
