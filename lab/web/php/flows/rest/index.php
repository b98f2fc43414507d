<?php
require 'api.php';
answer(['name' => 'Accounts', 'description' => '/openapi.json']);
