<?php
require 'inc/forged.php';
show('Club', hello() . links(['/mail.php' => 'Mail address', '/password.php' => 'Password', '/search.php?q=chair' => 'Search']));
