<?php
require 'lab.php';
if (variant('slow')) usleep(random_int(200000, 900000));
$mail = text($_POST, 'mail');
if (posted() && variant('weak')) db()->query("INSERT INTO letters (mail) VALUES ('$mail')");
elseif (posted()) rows('INSERT INTO letters (mail) VALUES (?)', $mail);
show('Letters', '<p>Thank you.</p>');
