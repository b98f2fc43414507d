<?php
require 'lab.php';
show('Staff', form('/enter.php', hidden() . field('account', 'anna') . field('word', '', 'password'), 'Enter') .
    form('/phone.php', field('name', 'anna'), 'Find', 'get'));
