<?php
require 'lab.php';
need();
show('Hours', '<p>Nine to five.</p>');
