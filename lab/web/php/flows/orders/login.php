<?php
require 'lab.php';
login('/index.php');
