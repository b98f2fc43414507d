<?php
require 'lab.php';
show('Club', hello() . links(['/avatar.php' => 'Picture']));
