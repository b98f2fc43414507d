<?php
require 'inc/forged.php';
login('/index.php');
